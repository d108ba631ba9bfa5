"""uhebo beside other libraries, on one harness."""
