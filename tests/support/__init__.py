"""What tests share: models, networks, cases, checks, the command line."""
