import type { PolicyEngine } from '../policy-engine.ts';
import type { Engine } from './engine.ts';
import { answerByPolicy } from './requestable.ts';

/** Decides by Cedar policies. */
export function cedarPolicies(engine: Engine): PolicyEngine {
  return {
    answer: (request, approval) => answerByPolicy(engine, request, approval?.facts),
    contextOf: (action) => engine.contextOf(action),
  };
}
