-- Opens all items of a bundle or no item, and spends its key and every denial with them. The items are inserted in the order of
-- their denials: otherwise two bundles with the same denials in another order would wait for each other. `p_items` is a list of
-- objects, whose members are named like the parameters of `create_access_request`. Other members are an error. Outcomes: created,
-- or those of opened_before.
CREATE OR REPLACE FUNCTION approvals.create_bundle(p_id text, p_client_id text, p_submitted_by text, p_idempotency_key text,
  p_body_digest text, p_callback_endpoint text, p_callback_state text, p_callback_events text[], p_items jsonb)
RETURNS TABLE (outcome text, id text) LANGUAGE plpgsql AS $$
DECLARE v_item jsonb; i record; v_outcome text;
BEGIN
  BEGIN
    INSERT INTO approvals.bundle (id, submitted_by, callback_endpoint, callback_state, callback_events)
      VALUES (p_id, p_submitted_by, p_callback_endpoint, p_callback_state, p_callback_events);
    FOR v_item IN SELECT item FROM jsonb_array_elements(p_items) AS items (item)
        ORDER BY item ->> 'token_jti', (item ->> 'position')::int LOOP
      SELECT * INTO STRICT i FROM jsonb_to_record(v_item) AS members (
        id text, client_id text, submitted_by text, idempotency_key text, body_digest text, evaluation_id text, trace_id text,
        token_jti text, subject text, action text, resource text, context text, claimed text, effect text, outline text, tool text, template text,
        policies text[], reason text, title text, description text, requester_issuer text, requester_subject text,
        requester_client text, parties text[], generation int, call_digest text, binding_hash text,
        binding_context_members text[], tool_digest text, grant_seconds int, grant_uses int, stages jsonb, separate_stages boolean,
        approval_ms bigint, requested_until timestamptz,
        ttl_ms bigint, keep_ms bigint, notified boolean, callback_endpoint text, callback_state text, callback_events text[],
        position int, denial_part int);
      IF v_item - ARRAY(SELECT jsonb_object_keys(to_jsonb(i))) <> '{}' THEN
        RAISE EXCEPTION 'an item of a bundle has an unknown member' USING ERRCODE = '22023';
      END IF;
      SELECT c.outcome INTO STRICT v_outcome FROM approvals.create_access_request(
        p_id => i.id, p_client_id => i.client_id, p_submitted_by => i.submitted_by, p_idempotency_key => i.idempotency_key,
        p_body_digest => i.body_digest, p_evaluation_id => i.evaluation_id, p_trace_id => i.trace_id,
        p_token_jti => i.token_jti, p_subject => i.subject, p_action => i.action, p_resource => i.resource,
        p_context => i.context, p_claimed => i.claimed, p_effect => i.effect, p_outline => i.outline, p_tool => i.tool, p_template => i.template, p_policies => i.policies,
        p_reason => i.reason, p_title => i.title, p_description => i.description, p_requester_issuer => i.requester_issuer,
        p_requester_subject => i.requester_subject, p_requester_client => i.requester_client, p_parties => i.parties,
        p_generation => i.generation, p_call_digest => i.call_digest, p_binding_hash => i.binding_hash,
        p_binding_context_members => i.binding_context_members, p_tool_digest => i.tool_digest, p_grant_seconds => i.grant_seconds,
        p_grant_uses => i.grant_uses, p_stages => i.stages, p_separate_stages => i.separate_stages,
        p_approval_ms => i.approval_ms, p_requested_until => i.requested_until, p_ttl_ms => i.ttl_ms, p_keep_ms => i.keep_ms,
        p_notified => i.notified, p_callback_endpoint => i.callback_endpoint, p_callback_state => i.callback_state,
        p_callback_events => i.callback_events, p_position => i.position, p_denial_part => i.denial_part, p_bundle_id => p_id) c;
      IF v_outcome <> 'created' THEN RAISE unique_violation; END IF;
    END LOOP;
    RETURN QUERY SELECT 'created', p_id;
    RETURN;
  EXCEPTION WHEN unique_violation THEN NULL; -- the block leaves no row behind
  END;
  RETURN QUERY SELECT b.outcome, b.id FROM approvals.opened_before(p_client_id, p_idempotency_key, p_body_digest) b;
END $$;
