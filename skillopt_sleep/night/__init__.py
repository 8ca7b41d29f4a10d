"""One night: harvest, mine, train, gate, stage."""
