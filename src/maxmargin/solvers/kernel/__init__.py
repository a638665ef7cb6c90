"""Solvers of kernel machines: scores are sums of kernel values (see :mod:`maxmargin.kernels`)."""
