// Nothing: what all tests include is compiled once, before this file.
