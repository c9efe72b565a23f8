"""The virtual SoC: C sources of the simulator, platform descriptions and the code that builds and loads it."""
