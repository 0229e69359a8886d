"""One file a page. Views parse, authorise, call, render."""
