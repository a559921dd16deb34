-- Auditors look records up by the policy decision point's own name of an evaluation.
CREATE INDEX decision_by_evaluation ON gateway.decision (evaluation_id);
