import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import type { Held, Ran, Refusal, ToolCallAnswer } from '../calls/tool-call.ts';
import { renderFormRound, renderCreatedTask } from './render-task.ts';
import { renderEarlier, renderNotNeeded, renderRequest, renderStillHeld } from './render-request.ts';
import { authorizationMeta, toolError, type Rendering } from './rendering.ts';
import { renderRelayedCreation, renderRelayedRound, forwardedError, forwardedResult } from './upstream-result.ts';
import { deniedCall } from './errors.ts';
import { missingCapabilities, missingTasksCapability } from './sdk-overlay.ts';
import type { StepUp } from '../../../workflows/domain/authzen/obligation.ts';
import type { CallFault } from '../../shared/schemas/schema-check.ts';
import { NEXT_STEP_META, OWN_TOOLS, TASKS_EXTENSION, UNMET_REQUIREMENTS_META } from './identifiers.ts';
import { POLLED, REQUEST_POLL_MS, REQUEST_SCHEMA } from './own-tools.ts';

/** The answer to `tools/call`. Throws the upstream's own error when it answered with one, and that of a missing capability. */
export function renderAnswer(answer: ToolCallAnswer, rendering: Rendering): Result {
  switch (answer.kind) {
    case 'ran':
      return renderOutcome(answer.outcome);
    case 'held':
      return renderHeld(answer, rendering);
    case 'asks':
      return answer.round.kind === 'form' ? renderFormRound(answer.round, rendering) : renderRelayedRound(answer.round);
    case 'refused':
      return renderRefusal(answer.refusal, rendering);
  }
}

function renderOutcome(outcome: Ran['outcome']): Result {
  switch (outcome.kind) {
    case 'result':
      return forwardedResult(outcome.result);
    case 'error':
      throw forwardedError(outcome);
    case 'not_sent':
      return renderNotSent();
    case 'no_answer':
      return renderNoAnswer();
    case 'task':
      return renderRelayedCreation(outcome.taskId, outcome.task);
  }
}

function renderHeld({ as, view, isEarlier }: Held, rendering: Rendering): Result {
  if (as === 'task') return renderCreatedTask(view, rendering);
  if (as === 'waited') return renderStillHeld(view, rendering);
  return isEarlier ? renderEarlier(view, rendering) : renderRequest(view, rendering);
}

function renderRefusal(refusal: Refusal, rendering: Rendering): Result {
  switch (refusal.reason) {
    case 'denied':
      return denial(renderDenial(rendering, refusal.why), rendering);
    case 'step_up':
      return denial(renderStepUp(refusal.stepUps, rendering), rendering);
    case 'too_many':
      return renderLimitDenial(rendering);
    case 'not_needed':
      return renderNotNeeded();
    case 'needs_tasks':
      return denial(renderNeedsTasks(rendering), rendering);
    case 'demands_tasks':
      throw missingTasksCapability();
    case 'needs_forms':
      return denial(renderNeedsForms(rendering), rendering);
    case 'not_requested':
      return renderNotRequested(refusal.why, rendering);
    case 'not_accepted':
      return renderNotAccepted();
    case 'undeclared':
      throw missingCapabilities(refusal.requiredCapabilities);
    case 'not_continued':
      return renderNotContinued(rendering);
    case 'unfit':
      return renderUnfit(refusal.fault);
    case 'requirements_unmet':
      return renderUnmetRequirements(refusal.requirements);
  }
}

/** What policy denied, as the client is to read it. Throws where that is an error. */
function denial(result: CallToolResult, { coaz }: Rendering): Result {
  if (coaz.denials === 'result') return result;
  throw deniedCall(result.content.map((block) => (block.type === 'text' ? block.text : '')).join(' '));
}

/** A denial that nothing can change; or one that the operator may not have meant, since no policy is about the call. */
export function renderDenial(rendering: Rendering, why?: 'not_permitted'): CallToolResult {
  return toolError(
    why === 'not_permitted'
      ? 'The tool did not run. No policy permits this call, and no approval can be requested for it. Next step, for the operator ' +
          'of this gateway: `countersign lint` names the tools that no policy permits.'
      : 'The tool did not run. Policy does not allow this call, and no approval can change that.',
    authorizationMeta('final', rendering),
  );
}

/** A denial that a stronger sign-in may cure. The values are the policy's, for the client's authorization request. @see OpenID Connect Core 1.0, section 3.1.2.1 */
export function renderStepUp(stepUps: readonly StepUp[], rendering: Rendering): CallToolResult {
  return toolError(
    'The tool did not run. Policy requires a stronger sign-in for this call. Next step: sign in again as the metadata of this ' +
      'answer says, then repeat the call with the new token.',
    {
      ...authorizationMeta('stepUp', rendering),
      [NEXT_STEP_META]: {
        kind: 'step_up',
        signIns: stepUps.map(({ acrValue, amrValues }) => ({ acr_value: acrValue, amr_values: amrValues })),
      },
    },
  );
}

/** A denial because too many requests are open, or were made lately. It invites to nothing, so that agents do not loop. */
export function renderLimitDenial(rendering: Rendering): CallToolResult {
  return toolError(
    'The tool did not run. This caller has too many open or recent approval requests; do not repeat this call now.',
    authorizationMeta('limit', rendering),
  );
}

/** A requestable denial for a client that cannot hold a task. Nothing was requested. */
export function renderNeedsTasks(rendering: Rendering): CallToolResult {
  const { requestAccess, requestStatus } = OWN_TOOLS;
  const tools = rendering.requestTools
    ? `, or call ${requestAccess} with this call, and then ${requestStatus}, ${POLLED}`
    : '';
  return toolError(
    'The tool did not run. This call needs an approval that can be requested, and nothing was requested yet. ' +
      `Next step: repeat the call from a client that declares the extension ${TASKS_EXTENSION}${tools}.`,
    {
      ...authorizationMeta('requestable', rendering),
      [NEXT_STEP_META]: rendering.requestTools
        ? {
            kind: requestAccess,
            tool: requestAccess,
            statusTool: requestStatus,
            pollIntervalMs: REQUEST_POLL_MS,
            requestSchema: REQUEST_SCHEMA,
          }
        : { kind: 'declare_extension', extension: TASKS_EXTENSION },
    },
  );
}

/** A call that was allowed when its tool asked, and needs an approval now that the answer is there. Nothing was requested. */
export function renderNotContinued(rendering: Rendering): CallToolResult {
  return toolError(
    'The tool did not continue: policy now requires an approval for this call. The answers were not sent to the tool, and ' +
      'nothing was requested yet. Next step: repeat the call from the start, without requestState and inputResponses.',
    authorizationMeta('requestable', rendering),
  );
}

/** A tool that is not what the operator accepted: it could do anything by now, so nothing is asked about calls of it. */
export function renderNotAccepted(): CallToolResult {
  return toolError(
    'The tool did not run. Its server does not describe it as the operator of this gateway accepted it. Next step, for the ' +
      'operator: read `countersign signature diff`, then run `countersign signature accept` to allow the tool.',
  );
}

/** A requestable denial whose request needs input, for a client that can show no form. Nothing was requested. */
export function renderNeedsForms(rendering: Rendering): CallToolResult {
  return toolError(
    'The tool did not run. This call needs an approval that can be requested, but the request needs input from a person. ' +
      'Nothing was requested yet. Next step: repeat the call from a client that declares the capability elicitation (form).',
    {
      ...authorizationMeta('requestable', rendering),
      [NEXT_STEP_META]: { kind: 'declare_capability', capability: 'elicitation' },
    },
  );
}

/**
 * The client declined to give input, or gave none that could be used; or the input cannot be chosen at all. Then the log says
 * why, for the operator who can mend it (ARAP-FRM-05).
 */
export function renderNotRequested(why: 'not_given' | 'nothing_to_choose', rendering: Rendering): CallToolResult {
  return toolError(
    why === 'not_given'
      ? 'The tool did not run. It needs an approval, but the input for the request was not given. Nothing was requested.'
      : 'The tool did not run. It needs an approval, but the input for the request cannot be chosen at the moment. Nothing was ' +
          'requested. Next step, for the operator of this gateway: look for `catalog_unusable` in its log.',
    authorizationMeta('final', rendering),
  );
}

/** Arguments that the tool's schema, or JSON itself, does not take; or a schema with which nothing can be checked. */
export function renderUnfit(fault: CallFault): CallToolResult {
  return toolError(
    'problem' in fault
      ? `The tool did not run. Its arguments are not valid: ${fault.problem}.`
      : `The tool did not run. Its ${fault.unusable} schema cannot be used, so it cannot be called. Only the operator of its server can fix that.`,
  );
}

/** A call that was not decided on, because something that the tool needs is not the case. No approval can cure that. */
export function renderUnmetRequirements(requirements: readonly string[]): CallToolResult {
  const unmet = `Unmet requirement${requirements.length === 1 ? '' : 's'}: ${requirements.join(', ')}`;
  return toolError(`The tool did not run. ${unmet}`, { [UNMET_REQUIREMENTS_META]: requirements });
}

/** An allowed call that provably did not reach the tool. */
export function renderNotSent(): CallToolResult {
  return toolError('The tool did not run: its server cannot be reached. The call may be repeated later.');
}

/** An allowed call that left and brought no answer. */
export function renderNoAnswer(): CallToolResult {
  return toolError(
    'The tool may have run: its server sent no answer. Check the target system before you repeat the call.',
  );
}
