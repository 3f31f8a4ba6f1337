"""Running counts that outlive their process: every step is in a journal before anybody is asked, and before it is told."""
