import type { CallToolResult, Result } from '@modelcontextprotocol/server';
import type { ToolCallAnswer } from '../tools/tool-call.ts';
import {
  renderDenial,
  renderLimitDenial,
  renderNeedsForms,
  renderNeedsTasks,
  renderNoAnswer,
  renderNotAccepted,
  renderNotContinued,
  renderNotRequested,
  renderNotSent,
  renderStepUp,
  renderUnfit,
  renderUnmetRequirements,
} from './render-denial.ts';
import { renderQuestion } from './render-question.ts';
import { renderEarlier, renderNotNeeded, renderRequest, renderStillHeld } from './render-request.ts';
import { renderCreatedTask } from './render-task.ts';
import type { Rendering } from './rendering.ts';
import { renderRelayedCreation, renderRelayedRound } from './render-relayed.ts';
import { deniedCall } from './error-codes.ts';
import { missingCapabilities, missingTasksCapability } from './sdk-overlay.ts';
import { forwardedError, forwardedResult } from './upstream-result.ts';

/** The answer to `tools/call`. Throws the upstream's own error when it answered with one, and that of a missing capability. */
export function renderAnswer(answer: ToolCallAnswer, rendering: Rendering): Result {
  switch (answer.kind) {
    case 'result':
      return forwardedResult(answer.result);
    case 'error':
      throw forwardedError(answer);
    case 'not_sent':
      return renderNotSent();
    case 'no_answer':
      return renderNoAnswer();
    case 'task':
      return renderCreatedTask(answer.view, rendering);
    case 'requested':
      return answer.isEarlier ? renderEarlier(answer.view, rendering) : renderRequest(answer.view, rendering);
    case 'still_held':
      return renderStillHeld(answer.view, rendering);
    case 'not_needed':
      return renderNotNeeded();
    case 'denied':
      return denial(renderDenial(rendering, answer.why), rendering);
    case 'step_up':
      return denial(renderStepUp(answer.stepUps, rendering), rendering);
    case 'too_many':
      return renderLimitDenial(rendering);
    case 'needs_tasks':
      return denial(renderNeedsTasks(rendering), rendering);
    case 'not_accepted':
      return renderNotAccepted();
    case 'needs_forms':
      return denial(renderNeedsForms(rendering), rendering);
    case 'input_required':
      return renderQuestion(answer, rendering);
    case 'not_requested':
      return renderNotRequested(answer.why, rendering);
    case 'relayed_round':
      return renderRelayedRound(answer);
    case 'relayed_task':
      return renderRelayedCreation(answer.taskId, answer.task);
    case 'undeclared':
      throw missingCapabilities(answer.requiredCapabilities);
    case 'not_continued':
      return renderNotContinued(rendering);
    case 'demands_tasks':
      throw missingTasksCapability();
    case 'unfit':
      return renderUnfit(answer.fault);
    case 'requirements_unmet':
      return renderUnmetRequirements(answer.requirements);
  }
}

/** What policy denied, as the client is to read it. Throws where that is an error. */
function denial(result: CallToolResult, { coaz }: Rendering): Result {
  if (coaz.denials === 'result') return result;
  throw deniedCall(result.content.map((block) => (block.type === 'text' ? block.text : '')).join(' '));
}
