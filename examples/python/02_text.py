"""Text with a sparse matrix, which stays sparse."""
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from topwolf import TopwolfClassifier

texts = [
    "the bill passed the senate after a long debate", "voters went to the polls on sunday",
    "the minister resigned over the budget", "parliament debates the new tax law",
    "the striker scored twice in the final", "the coach praised the young goalkeeper",
    "a late goal decided the match", "the team won the cup after extra time",
    "the telescope found a distant galaxy", "the probe sent pictures of the planet",
    "researchers measured the decay of the particle", "the experiment confirmed the theory",
]
topics = ["politics"] * 4 + ["sport"] * 4 + ["science"] * 4

model = make_pipeline(TfidfVectorizer(), TopwolfClassifier(C=10)).fit(texts, topics)
new = ["the senate debates the budget", "the goalkeeper won the match", "pictures of a galaxy"]
for text, topic in zip(new, model.predict(new)):
    print(f"{topic}: {text}")
