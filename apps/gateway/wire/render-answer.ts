import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import type { Asks, Held, Ran, Refusal, ToolCallAnswer } from '../calls/tool-call.ts';
import { renderFormRound, renderCreatedTask } from './render-task.ts';
import { renderEarlier, renderPageRound, renderRequest, renderStillHeld } from './render-request.ts';
import { authorizationMeta, textResult, toolError, type Rendering } from './rendering.ts';
import { renderRelayedCreation, renderRelayedRound, forwardedError, forwardedResult } from './upstream-result.ts';
import { deniedCall } from './errors.ts';
import { missingCapabilities, missingTasksCapability } from './sdk-overlay.ts';
import type { CallFault } from '../../shared/schemas/schema-check.ts';
import { NEXT_STEP_META, OWN_TOOLS, TASKS_EXTENSION, UNMET_REQUIREMENTS_META } from './identifiers.ts';
import { REQUEST_SCHEMA } from './own-tools.ts';

/** The answer to `tools/call`. Throws the upstream's own error, and the error of a missing capability. */
export function renderAnswer(answer: ToolCallAnswer, rendering: Rendering): Result {
  switch (answer.kind) {
    case 'ran':
      return renderOutcome(answer.outcome);
    case 'held':
      return renderHeld(answer, rendering);
    case 'asks':
      return renderRound(answer.round, rendering);
    case 'refused':
      return renderRefusal(answer.refusal, rendering);
  }
}

function renderRound(round: Asks['round'], rendering: Rendering): Result {
  switch (round.kind) {
    case 'form':
      return renderFormRound(round, rendering);
    case 'page':
      return renderPageRound(round, rendering);
    case 'relayed_round':
      return renderRelayedRound(round);
  }
}

function renderOutcome(outcome: Ran['outcome']): Result {
  switch (outcome.kind) {
    case 'result':
      return forwardedResult(outcome.result);
    case 'error':
      throw forwardedError(outcome);
    case 'not_sent':
      return toolError('The tool did not run: its server cannot be reached. The call may be repeated later.');
    case 'no_answer':
      return toolError(
        'The tool may have run: its server sent no answer. Check the target system before you repeat the call.',
      );
    case 'task':
      return renderRelayedCreation(outcome.taskId, outcome.task);
  }
}

function renderHeld(held: Held, rendering: Rendering): Result {
  const { as, view, isEarlier } = held;
  if (as === 'task') return renderCreatedTask(view, rendering);
  if (as === 'waited') return renderStillHeld(held, rendering);
  return isEarlier ? renderEarlier(view, rendering) : renderRequest(held, rendering);
}

/** The texts are fixed: they quote nothing that a policy wrote. */
function renderRefusal(refusal: Refusal, rendering: Rendering): Result {
  switch (refusal.reason) {
    case 'denied':
    case 'step_up':
    case 'needs_tasks':
    case 'needs_forms':
      return policyDenial(refusal, rendering);
    case 'too_many':
      // It names no next step, so that agents do not loop.
      return toolError(
        'The tool did not run. This caller has too many open or recent approval requests; do not repeat this call now.',
        authorizationMeta('limit', rendering),
      );
    case 'not_needed':
      return textResult('The tool did not run. The call needs no approval. Next step: call the tool itself.');
    case 'demands_tasks':
      throw missingTasksCapability();
    case 'not_requested':
      return notRequested(refusal.why, rendering);
    case 'not_accepted':
      return toolError(
        'The tool did not run. Its server does not describe it as the operator of this gateway accepted it. Next step, for the ' +
          'operator: read `countersign signature diff`, then run `countersign signature accept` to allow the tool.',
      );
    case 'undeclared':
      throw missingCapabilities(refusal.requiredCapabilities);
    case 'not_continued':
      return toolError(
        'The tool did not continue: policy now requires an approval for this call. The answers were not sent to the tool, and ' +
          'nothing was requested yet. Next step: repeat the call from the start, without requestState and inputResponses.',
        authorizationMeta('requestable', rendering),
      );
    case 'unfit':
      return toolError(`The tool did not run. ${textOfFault(refusal.fault)}`);
    case 'requirements_unmet': {
      const { requirements } = refusal;
      const unmet = `Unmet requirement${requirements.length === 1 ? '' : 's'}: ${requirements.join(', ')}`;
      return toolError(`The tool did not run. ${unmet}`, { [UNMET_REQUIREMENTS_META]: requirements });
    }
  }
}

const NOT_REQUESTED = {
  // Many hosts decline a form in a person's place, so it is shown again. The text keeps an agent from repeating the call by itself.
  not_given:
    'The tool did not run. It needs an approval, but the input for the request was not given. Nothing was requested. Next step: ask ' +
    'the person whether they want to give it. Only then repeat the call, which shows the form again.',
  // The log names the catalog, for the operator who can fix it (ARAP-FRM-05).
  nothing_to_choose:
    'The tool did not run. It needs an approval, but the input for the request cannot be chosen at the moment. Nothing was ' +
    'requested. Next step, for the operator of this gateway: look for `catalog_unusable` in its log.',
};

const notRequested = (why: keyof typeof NOT_REQUESTED, rendering: Rendering) =>
  toolError(NOT_REQUESTED[why], authorizationMeta(why === 'not_given' ? 'requestable' : 'final', rendering));

const textOfFault = (fault: CallFault) =>
  'problem' in fault
    ? `Its arguments are not valid: ${fault.problem}.`
    : `Its ${fault.unusable} schema cannot be used, so it cannot be called. Only the operator of its server can fix that.`;

type PolicyDenial = Extract<Refusal, { reason: 'denied' | 'step_up' | 'needs_tasks' | 'needs_forms' }>;

/** A denial by policy. For clients that go by COAZ alone, it is thrown as an error. */
function policyDenial(refusal: PolicyDenial, rendering: Rendering): CallToolResult {
  const { denial, text, nextStep } = denialOf(refusal, rendering);
  if (rendering.coaz.denials === 'error') throw deniedCall(text);
  return toolError(text, { ...authorizationMeta(denial, rendering), ...(nextStep && { [NEXT_STEP_META]: nextStep }) });
}

interface Denial {
  readonly denial: Parameters<typeof authorizationMeta>[0];
  readonly text: string;
  readonly nextStep?: object;
}

function denialOf(refusal: PolicyDenial, rendering: Rendering): Denial {
  switch (refusal.reason) {
    case 'denied':
      return {
        denial: 'final',
        text:
          refusal.why === 'not_permitted'
            ? 'The tool did not run. No rule permits this call, and no approval can be requested for it. Next step, for the operator ' +
              'of this gateway: `countersign lint` names the tools that no rule or policy permits.'
            : 'The tool did not run. Policy does not allow this call, and no approval can change that.',
      };
    case 'step_up': {
      // The values are the policy's, for the client's authorization request. @see OpenID Connect Core 1.0, section 3.1.2.1
      const signIns = refusal.stepUps.map(({ acrValue, amrValues }) => ({
        acr_value: acrValue,
        amr_values: amrValues,
      }));
      return {
        denial: 'stepUp',
        text:
          'The tool did not run. Policy requires a stronger sign-in for this call. Next step: sign in again as the metadata of this ' +
          'answer says, then repeat the call with the new token.',
        nextStep: { kind: 'step_up', signIns },
      };
    }
    case 'needs_tasks':
      return needsTasks(rendering);
    case 'needs_forms':
      return {
        denial: 'requestable',
        text:
          'The tool did not run. This call needs an approval that can be requested, but the request needs input from a person. ' +
          'Nothing was requested yet. Next step: repeat the call from a client that declares the capability elicitation (form).',
        nextStep: { kind: 'declare_capability', capability: 'elicitation' },
      };
  }
}

function needsTasks({ requestTools }: Rendering): Denial {
  const { requestAccess, requestStatus } = OWN_TOOLS;
  const tools = requestTools ? `, or call ${requestAccess} with this call, and then ${requestStatus}` : '';
  return {
    denial: 'requestable',
    text:
      'The tool did not run. This call needs an approval that can be requested, and nothing was requested yet. ' +
      `Next step: repeat the call from a client that declares the extension ${TASKS_EXTENSION}${tools}.`,
    nextStep: requestTools
      ? {
          kind: requestAccess,
          tool: requestAccess,
          statusTool: requestStatus,
          requestSchema: REQUEST_SCHEMA,
        }
      : { kind: 'declare_extension', extension: TASKS_EXTENSION },
  };
}
