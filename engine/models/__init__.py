"""Models on the CPU: checkpoint readers, tokenizer, and a decoder of the Llama family."""
