"""What tests of several folders share: sites, people in a browser, waiting."""
