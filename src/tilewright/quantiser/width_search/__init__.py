"""How many bits each layer computes with, decided for all together by what that costs and loses."""
