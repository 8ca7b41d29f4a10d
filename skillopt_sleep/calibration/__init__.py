"""Controls of the gate with the user's own tasks: skills against themselves, and edits known to be bad."""
