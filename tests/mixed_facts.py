"""Compute the facts that tests compare mixed models with: lme4's values on the data of mixed_data.

    python tests/mixed_facts.py [NAME ...]

Needs R with lme4 and jsonlite. Each fact goes into mixed_facts.json with the versions and the
call. Facts of other names are kept. The largest data set takes lme4 tens of minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "workflow_scripts"))
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from mixed_data import LOGISTIC, REAL, SIMULATED, accuracies, read

FACTS = Path(__file__).with_name("mixed_facts.json")
MIRROR = Path(os.environ.get("LINGPROB_MIRROR", Path(__file__).parents[2] / "shared" / "mirror"))
# Optimisation carried well beyond lme4's defaults, so that a fact is lme4's optimum.
CALL = (
    "lmer(formula, data, REML = FALSE, control = lmerControl(optimizer = 'bobyqa', "
    "calc.derivs = FALSE, optCtrl = list(maxfun = 1e6, rhoend = 1e-8)))"
)
SCRIPT = """
suppressMessages({library(lme4); library(jsonlite)})
folder <- commandArgs(TRUE)[1]
job <- fromJSON(file.path(folder, "job.json"))
values <- readBin(file.path(folder, "values.bin"), "double", job$rows * length(job$columns))
data <- as.data.frame(matrix(values, job$rows, dimnames = list(NULL, job$columns)))
formula <- as.formula(job$formula)
report <- function(fit) {
  list(log_likelihood = as.numeric(logLik(fit)), fixed_effects = as.list(fixef(fit)),
       standard_errors = as.list(sqrt(diag(as.matrix(vcov(fit))))), sigma = sigma(fit),
       covariance = matrix(VarCorr(fit)[[1]], nrow(VarCorr(fit)[[1]])),
       singular = isSingular(fit), messages = fit@optinfo$conv$lme4$messages)
}
result <- list()
if (is.null(job$theta)) {
  spent <- system.time(fit <- CALL)
  result$ML <- c(report(fit), cpu_seconds = spent[["user.self"]] + spent[["sys.self"]])
} else {
  parts <- lFormula(formula, data, REML = FALSE)
  deviance <- do.call(mkLmerDevfun, parts)
  end <- list(par = job$theta, fval = deviance(job$theta), conv = 0, feval = 1)
  result$ML <- report(mkMerMod(environment(deviance), end, parts$reTrms, parts$fr))
}
result$R <- R.version.string
result$lme4 <- as.character(packageVersion("lme4"))
write_json(result, file.path(folder, "result.json"), digits = NA, auto_unbox = TRUE)
""".replace("CALL", CALL)

LOGISTIC_CALL = (
    "glmer(cbind(correct, trials - correct) ~ log_length * matched * acceptable + "
    "(1 | phenomenon), data, family = binomial, nAGQ = 1, control = glmerControl(optimizer = "
    "'bobyqa', tolPwrss = TOLERANCE, optCtrl = list(maxfun = 1e6, rhoend = 1e-9)))"
)
LOGISTIC_SCRIPT = """
suppressMessages({library(lme4); library(jsonlite)})
folder <- commandArgs(TRUE)[1]
data <- read.csv(file.path(folder, "data.csv"))
fit <- CALL
table <- coef(summary(fit))
effects <- ranef(fit)$phenomenon[, 1]
write_json(list(log_likelihood = as.numeric(logLik(fit)), terms = rownames(table),
                estimate = table[, 1], std_error = table[, 2], z = table[, 3], p = table[, 4],
                sd = sqrt(VarCorr(fit)[[1]][1]), random_effects = effects,
                singular = isSingular(fit), R = R.version.string,
                lme4 = as.character(packageVersion("lme4"))),
           file.path(folder, "result.json"), digits = NA, auto_unbox = TRUE)
"""


def lme4_fits(frame: pd.DataFrame, formula: str, theta: list | None = None) -> dict:
    """Return lme4's fit of the formula to the frame, or its values at `theta`."""
    columns = frame.astype(float)
    job = {"rows": len(frame), "columns": list(columns), "formula": formula}
    job |= {"theta": theta} if theta else {}
    values = np.asfortranarray(columns).tobytes("F")
    return run_r(SCRIPT, {"values.bin": values, "job.json": json.dumps(job).encode()})


def run_r(script: str, files: dict[str, bytes]) -> dict:
    """Return the result of an R script that finds these files in its folder."""
    with tempfile.TemporaryDirectory() as name:
        for file, content in {**files, "fit.R": script.encode()}.items():
            Path(name, file).write_bytes(content)
        subprocess.run(["Rscript", f"{name}/fit.R", name], check=True)
        return json.loads(Path(name, "result.json").read_text())


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with levels of factors that are no numbers numbered."""
    texts = frame.select_dtypes(exclude="number").columns
    return frame.assign(**{column: pd.factorize(frame[column])[0] for column in texts})


def glmer_fit(frame: pd.DataFrame, call: str) -> dict:
    """Return glmer's fit of the paper's formula to accuracies."""
    data = frame.to_csv(index=False, float_format="%.17g").encode()
    return run_r(LOGISTIC_SCRIPT.replace("CALL", call), {"data.csv": data})


def fact_of(name: str) -> dict:
    """Return the fact of a data set of mixed_data."""
    if name in LOGISTIC:
        frame = accuracies(LOGISTIC[name])
        call = LOGISTIC_CALL.replace("TOLERANCE", str(LOGISTIC[name].tolerance))
        return {"call": call, "correct": int(frame["correct"].sum()), **glmer_fit(frame, call)}
    case = (SIMULATED | REAL)[name]
    frame = case.make(MIRROR) if name in REAL else case.make(*case.arguments)
    fact = {
        "formula": case.formula, "call": CALL, "rows": len(frame),
        "mean_rt_ms": float(frame["rt_ms"].mean()), **lme4_fits(_numbered(frame), case.formula),
    }  # fmt: skip
    return {**fact, "at_our_theta": at_our_theta(frame, fact)}


def at_our_theta(frame: pd.DataFrame, fact: dict) -> dict:
    """Return lme4's values at our optimum if its own search ended below it."""
    data = read(frame, [fact["formula"]])
    (fit,) = fit_mixed_models(data, [fact["formula"]])
    if fit.log_likelihood <= fact["ML"]["log_likelihood"] + 1e-6:
        return {}
    psi = fit.covariance.to_numpy() / fit.sigma**2
    factor = np.linalg.cholesky(psi + 1e-12 * np.eye(len(psi)))
    theta = factor.T[np.triu_indices(len(factor))].tolist()
    return lme4_fits(_numbered(frame), fact["formula"], theta)


def main(names: list[str]) -> None:
    """Compute and store the facts of the named data sets (default: all)."""
    for name in names or [*SIMULATED, *REAL, *LOGISTIC]:
        fact = fact_of(name)
        facts = json.loads(FACTS.read_text()) if FACTS.exists() else {}
        facts[name] = fact
        FACTS.write_text(json.dumps(dict(sorted(facts.items())), indent=1) + "\n")
        print(f"{name}: {fact.get('ML', fact)['log_likelihood']:.6f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
