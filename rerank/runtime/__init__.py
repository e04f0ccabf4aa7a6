"""Run-time services: kernels, threads, progress, output files."""
