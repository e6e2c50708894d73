"""Files for pipelines: JUnit XML and Markdown."""
