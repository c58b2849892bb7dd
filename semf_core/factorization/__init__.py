"""One call from data to result: the problem, its solution, how it ended, what it is worth."""
