"""The four ITAs of ITAPool: whole attention heads by one command each."""
