"""How the bundled model is made: a text generator, a tokenizer trainer, a PyTorch trainer and a GGUF writer."""
