"""C and k by cross-validation, scored by top-3 accuracy."""
from sklearn.datasets import load_digits
from sklearn.metrics import make_scorer, top_k_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from topwolf import TopwolfClassifier

X, y = load_digits(return_X_y=True)
top_3 = make_scorer(top_k_accuracy_score, response_method="decision_function", k=3)
grid = {"C": [0.01, 0.1, 1, 10], "k": [1, 3, 5]}
search = GridSearchCV(TopwolfClassifier("usunier"), grid, scoring=top_3, cv=3).fit(normalize(X), y)
print(f"best: {search.best_params_}, top-3 error {1 - search.best_score_:.4f}")
