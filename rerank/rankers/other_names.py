"""Parameters of other libraries (LightGBM, XGBoost, scikit-learn), and what says the same here: hints in errors."""

from collections.abc import Iterable

from rerank.errors import UnknownParameterError, shown, suggestion

SAME = {  # other names of parameters of rankers
    "n_estimators": "num_iterations num_iteration num_boost_round num_round num_rounds n_round num_trees n_iter "
    "max_iter iterations",
    "learning_rate": "eta shrinkage shrinkage_rate",
    "num_leaves": "max_leaves max_leaf_nodes max_leaf",
    "max_depth": "depth",
    "min_child_samples": "min_data_in_leaf min_data min_samples_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf min_sum_hessian",
    "min_split_gain": "min_gain_to_split gamma min_split_loss min_impurity_decrease",
    "reg_alpha": "lambda_l1 l1_regularization",
    "reg_lambda": "lambda_l2 lambda reg_lambda_l2 l2_regularization l2_leaf_reg",
    "categorical_feature": "categorical_features cat_features cat_feature categorical_column cat_column",
    "max_bin": "max_bins",
    "subsample": "bagging_fraction sub_row bagging",
    "data_sample_strategy": "bootstrap_type sampling_method",
    "colsample_bytree": "feature_fraction sub_feature max_features colsample_bynode colsample_bylevel",
    "early_stopping_rounds": "early_stopping_round n_iter_no_change early_stopping",
    "random_state": "seed random_seed bagging_seed data_random_seed",
    "n_jobs": "num_threads num_thread nthread n_thread nthreads thread_count",
    "truncation_level": "lambdarank_truncation_level lambdarank_num_pair_per_sample max_position",
    "normalize": "lambdarank_norm lambdarank_normalization norm",
    "sigma": "sigmoid",
    "metric": "metrics eval_metric loss_function",
    "base": "init_model xgb_model init",
}
ELSEWHERE = {  # parameters without a counterpart, and the sentence that says what to do
    "objective obj application loss": (
        "The objective is the measure: metric=, e.g. 'nDCG@10'; another loss is another ranker (see `rerank train -h`)"
    ),
    "eval_at ndcg_eval_at ndcg_at": "The cut-off is part of the measure: metric='nDCG@5' in place of eval_at=5",
    "label_gain ndcg_exp_gain": (
        "Gains are part of the measure: metric=\"nDCG(dcg='exp-log2')@10\" has LightGBM's 2^label - 1, 'nDCG@10' the "
        "label itself: give other gains as labels"
    ),
    "verbose verbosity verbose_eval silent logging_level": (
        "What is logged follows Python's logging (logging.getLogger('rerank')): leave it out"
    ),
    "callbacks callback": "Pass it to fit: fit(..., callbacks=[function])",
    "eval_set eval_group eval_qid validation_fraction": "Pass it to fit: fit(..., eval_set=valid)",
    "importance_type": "feature_importances_ are total gains, as importance_type='gain': leave it out",
    "boosting_type boosting boost booster": (
        "Trees are boosted as gbdt; for another model name another ranker (see `rerank train -h`)"
    ),
    "tree_method device device_type grow_policy predictor gpu_id force_row_wise force_col_wise linear_tree "
    "deterministic tree_learner subsample_for_bin bin_construct_sample_cnt enable_bundle": (
        "Trees grow by leaves on bins, on the CPU: leave it out"
    ),
    "subsample_freq bagging_freq bagging_by_query": (
        "Queries are drawn for each tree where subsample is below 1: leave it out"
    ),
    "top_rate other_rate": (
        "Rows are drawn by their gradients with data_sample_strategy='mvs' and subsample: leave it out"
    ),
    "enable_categorical max_cat_to_onehot cat_smooth cat_l2 max_cat_threshold min_data_per_group": (
        "Categories are a parameter of boosted trees, categorical_feature=, and their splits have LightGBM's constants"
    ),
    "class_weight is_unbalance unbalance scale_pos_weight": "Weigh queries in fit(sample_weight=), or leave it out",
    "missing use_missing zero_as_missing": "Missing values are NaN: leave it out",
}
_KNOWN = {name: known for known, names in SAME.items() for name in names.split()}
_SENTENCES = {name: text for names, text in ELSEWHERE.items() for name in names.split()}


def remedy(name: object, known: Iterable[str]) -> str:
    """Return the sentence of an error about an unknown parameter: what says the same here, or the nearest known name.

    known  the parameters of the ranker, of which a hint names no other
    """
    known = list(known)
    if isinstance(name, str) and _KNOWN.get(name) in known:
        return f"Its name here is {_KNOWN[name]}."
    text = _SENTENCES.get(name) if isinstance(name, str) and "metric" in known else None
    return suggestion(name, known) if text is None else f"{text}."


def check_names(ranker: str, chosen: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are no hyper-parameters of a ranker."""
    names = list(known)
    for name in chosen:
        if name not in names:
            raise UnknownParameterError(
                f"{ranker}: expected a known parameter, got {shown(name)}. {remedy(name, names)}"
            )
