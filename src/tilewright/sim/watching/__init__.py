"""What is noted of a run while it runs: probes, the time of functions, traces, what happened during a call."""
