"""`python -m tilewright` is the command `tilewright`."""

import signal


def main() -> None:
    """Load the command line and run it. Loading takes a moment, in which Ctrl-C just ends the process."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tilewright.cli import main

    signal.signal(signal.SIGINT, handler)
    main.main()


if __name__ == "__main__":
    main()
