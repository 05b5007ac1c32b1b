"""What a run costs: memory, minutes and GPUs of jobs, by the work that is expected of them."""
