"""The command line: the outermost layer, which imports what a command needs when it is called."""
