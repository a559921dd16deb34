export { accessRequestWorkflow } from './access-request.workflow.ts';
export { gatedCallWorkflow } from './gated-call.workflow.ts';
