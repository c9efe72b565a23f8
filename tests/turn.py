"""Which tenth of the thorough tests is run besides the others: advance it by one with every change."""

TURN = 21
