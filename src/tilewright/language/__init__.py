"""What makes a language model talk: text to tokens and back, and the choice of the next token."""
