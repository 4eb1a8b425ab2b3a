"""Papers: what a person names a paper by → what is known of it, and its file where it is open. arXiv and Semantic Scholar."""
