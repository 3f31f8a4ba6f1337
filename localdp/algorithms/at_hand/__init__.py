"""Arrays and data frames at hand: how X and y become records, by public rules, before anybody is asked or charged."""
