"""Search: understand -> generate -> rank. The file names are the stage names."""
