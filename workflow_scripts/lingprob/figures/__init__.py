"""Layout, colours and labels of the figures of all papers."""
