"""Parsers that turn raw data sets into stimulus tables. `build.build_stimuli` picks one."""
