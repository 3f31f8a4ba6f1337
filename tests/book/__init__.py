"""What the book says and no code of ours stands for: its statements and its errors, each computed or enumerated here."""
