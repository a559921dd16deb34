-- Database rights. Deployables work under one of four roles, which own nothing. So a fault in a program, or an attacker who
-- speaks with its voice, can change a gated call or an access request only by the functions. The roles cannot log in; the login
-- of a deployable is granted the one it needs. `countersign migrate` runs this script if it or a function has changed, and if
-- roles or rights are missing, as in a database that was restored into another server. So every statement in it can be repeated.
-- The roles have the rights that it grants, and no others.
DO $$
DECLARE v_role text; v_create text[] := '{}';
  v_roles text[] := ARRAY['countersign_enforcement','countersign_pdp','countersign_approvals','countersign_auditor'];
BEGIN
  FOREACH v_role IN ARRAY v_roles LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = v_role);
    -- Roles belong to the whole server: another database on it may create them at this moment.
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      WHEN insufficient_privilege THEN v_create := v_create || format('CREATE ROLE %I NOLOGIN;', v_role);
    END;
  END LOOP;
  IF v_create <> '{}' THEN
    RAISE EXCEPTION 'the login % may not create roles. Ask an administrator of the server to run: % Then migrate again',
      current_user, array_to_string(v_create, ' ');
  END IF;
  -- A single login for all, as the embedded server has, takes on each role. A login that may not grant itself a role needs none
  -- if each deployable has a login of its own. From PostgreSQL 16 on, membership alone does not let a login take on a role.
  FOREACH v_role IN ARRAY v_roles LOOP
    BEGIN
      IF current_setting('server_version_num')::int < 160000 THEN
        IF NOT pg_has_role(current_user, v_role, 'MEMBER') THEN EXECUTE format('GRANT %I TO %I', v_role, current_user); END IF;
      ELSIF NOT pg_has_role(current_user, v_role, 'SET') THEN
        EXECUTE format('GRANT %I TO %I WITH SET TRUE', v_role, current_user);
      END IF;
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
  END LOOP;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA gateway, approvals, pdp, audit
  FROM countersign_enforcement, countersign_pdp, countersign_approvals, countersign_auditor;
REVOKE ALL ON SCHEMA gateway, approvals, pdp, audit
  FROM countersign_enforcement, countersign_pdp, countersign_approvals, countersign_auditor;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA gateway, approvals, pdp, audit
  FROM countersign_enforcement, countersign_pdp, countersign_approvals, countersign_auditor;

-- Functions run as the owner of the tables. They look up nothing along a search path that a caller could set. Only roles with an
-- explicit grant can call them.
DO $$
DECLARE v_function regprocedure;
BEGIN
  FOR v_function IN SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname IN ('gateway','approvals','pdp') AND p.prorettype <> 'trigger'::regtype LOOP
    EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', v_function);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', v_function);
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA gateway TO countersign_enforcement;
GRANT SELECT ON ALL TABLES IN SCHEMA gateway TO countersign_enforcement;
GRANT INSERT ON gateway.decision TO countersign_enforcement;
GRANT UPDATE, DELETE ON gateway.outbox TO countersign_enforcement;
GRANT EXECUTE ON FUNCTION
  gateway.open_gated_call, gateway.take_unread, gateway.note_read, gateway.answer_page, gateway.redeem_state, gateway.take_submission, gateway.release_submission, gateway.attach_handle,
  gateway.end_unclaimed, gateway.expire_gated_call, gateway.grant_approval, gateway.keep_statement, gateway.request_again, gateway.accept_callback,
  gateway.waiting_call, gateway.add_preview,
  gateway.ask_input, gateway.answer_input, gateway.ask_again, gateway.add_obligation, gateway.drop_obligation,
  gateway.take_polls, gateway.defer_poll, gateway.enqueue_signal,
  gateway.claim_execution, gateway.begin_invocation, gateway.release_claim, gateway.settle_execution, gateway.forget_ended,
  gateway.rewrap_data_keys, gateway.add_descriptions,
  gateway.fence_state, gateway.hold_against, gateway.suspend, gateway.is_of_earlier_timeline
  TO countersign_enforcement;

-- The access request service and the policy decision point speak to each other only over HTTP. So an attacker who speaks with the
-- voice of one cannot cast a vote, or sign a denial, with the voice of the other.
GRANT USAGE ON SCHEMA approvals TO countersign_approvals;
GRANT SELECT ON ALL TABLES IN SCHEMA approvals TO countersign_approvals;
GRANT UPDATE (approval_state) ON approvals.access_request TO countersign_approvals;
GRANT UPDATE, DELETE ON approvals.outbox, approvals.question_outbox, approvals.message_outbox TO countersign_approvals;
GRANT INSERT ON approvals.message_outbox TO countersign_approvals;
GRANT UPDATE (begun_at, told, external_id, held_until) ON approvals.message TO countersign_approvals;
GRANT INSERT, UPDATE, DELETE ON approvals.session TO countersign_approvals;
GRANT EXECUTE ON FUNCTION
  approvals.create_access_request, approvals.expire_access_request, approvals.carry_out_due, approvals.cancel_access_request,
  approvals.create_bundle, approvals.cancel_bundle,
  approvals.cast_vote, approvals.extend_stage, approvals.give_up_stage, approvals.ask_requester, approvals.answer_as_requester, approvals.accept_decision, approvals.answer_resolver, approvals.revoke_approval, approvals.readable_until, approvals.forget_ended,
  approvals.delegate, approvals.hand_over, approvals.revoke_delegation, approvals.delegates_of,
  approvals.break_glass, approvals.review_break_glass, approvals.give_grant, approvals.revoke_grant, approvals.is_grantable, approvals.is_signed_in,
  approvals.issue_passkey_challenge, approvals.register_passkey, approvals.rename_passkey, approvals.revoke_passkey,
  approvals.note_opening, approvals.address_notice, approvals.admit_message, approvals.admit_digest, approvals.leave_digest,
  approvals.schedule_digest, approvals.keep_preview, approvals.subscribe_push, approvals.unsubscribe_push, approvals.note_push_reach
  TO countersign_approvals;

GRANT USAGE ON SCHEMA pdp TO countersign_pdp;
GRANT SELECT ON ALL TABLES IN SCHEMA pdp TO countersign_pdp;
GRANT INSERT ON pdp.evaluation TO countersign_pdp;
GRANT EXECUTE ON FUNCTION pdp.forget_evaluations TO countersign_pdp;

-- Auditors get the columns that their pages need. These columns hold no argument, result or key of calls, sealed or not.
GRANT USAGE ON SCHEMA gateway, audit TO countersign_auditor;
GRANT SELECT ON gateway.outcome_record, gateway.call_event TO countersign_auditor;
GRANT SELECT (gated_call_id, record_key) ON gateway.data_key TO countersign_auditor;
GRANT SELECT (id, task_id, state, trace_id, created_at, ended_at) ON gateway.gated_call TO countersign_auditor;
GRANT SELECT (gated_call_id, tool, call_digest) ON gateway.call_binding TO countersign_auditor;
GRANT SELECT (id, gated_call_id, evaluation_id) ON gateway.decision TO countersign_auditor;
GRANT SELECT (gated_call_id) ON gateway.invocation TO countersign_auditor;
GRANT SELECT (gated_call_id, released_at) ON gateway.execution_claim TO countersign_auditor;
GRANT SELECT (gated_call_id, is_error, result_digest, recorded_at) ON gateway.late_evidence TO countersign_auditor;
GRANT SELECT, INSERT, UPDATE, DELETE ON audit.session TO countersign_auditor;

-- Each process checks whether the database is of its version.
GRANT SELECT ON "_prisma_migrations", "_countersign_functions" TO countersign_enforcement, countersign_pdp, countersign_approvals, countersign_auditor;
