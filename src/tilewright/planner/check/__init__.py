"""The independent validator: what plans, schedules and arenas are held to, without the code that made them."""
