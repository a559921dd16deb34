-- Queues a signal to the workflow of a call. Like a callback, the signal is a hint and changes no state. The outbox keeps it
-- until it is delivered, so the call is not polled for a minute: while thousands of signals wait for their turn, each poll would
-- queue another one.
CREATE OR REPLACE FUNCTION gateway.enqueue_signal(p_call uuid) RETURNS void LANGUAGE sql AS $$
  SELECT gateway.defer_poll(p_call, 60000);
  SELECT gateway.enqueue('signal_workflow', p_call::text);
$$;
