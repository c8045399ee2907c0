"""Looking at runs and models. Importing this imports no plotting library."""
