"""Mixed logistic regression by the Laplace approximation, as lme4's glmer fits it."""
