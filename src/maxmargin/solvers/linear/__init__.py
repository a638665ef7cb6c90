"""Solvers of linear machines: one score a row, losses that are sums of hinges (see :mod:`maxmargin.terms`)."""
