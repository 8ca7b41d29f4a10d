"""Sessions with planted families: what is asked, in which words, and what else the sessions show of it."""
