"""`python -m tilewright` is the command `tilewright`."""

import signal
import sys


def main() -> None:
    """Load the command line and run it. Loading takes a moment, in which Ctrl-C just ends the process."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tilewright.cli.main import loaded

    run = loaded(sys.argv[1:])
    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
