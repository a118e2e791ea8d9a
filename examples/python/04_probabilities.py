"""Calibrated probabilities: scores of an SVM are none, CalibratedClassifierCV makes some."""
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from topwolf import TopwolfClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, stratify=y, random_state=0)
model = CalibratedClassifierCV(TopwolfClassifier("top_k", k=3), cv=3).fit(X_train, y_train)
probabilities = model.predict_proba(X_test)
print(f"log loss {log_loss(y_test, probabilities):.3f}, first row: {y_test[0]} with {probabilities[0, y_test[0]]:.2f}")
