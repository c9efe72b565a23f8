"""What clusters share: the runtime of loops over tiles, transfers and events in C, and MCHAN as a link."""
