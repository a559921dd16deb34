import { describe, expect, it } from '@jest/globals';
import { forwardedMeta } from '../../../apps/gateway/wire/forwarded-meta.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${SPAN}-01`;

describe('the metadata for an upstream', () => {
  it('is trace context and baggage, unchanged, and nothing else [OTEL-001]', () => {
    const context = {
      traceparent,
      tracestate: 'one=00f067aa0ba902b7, two@tenant=value,',
      baggage: 'userId=al%20ice;private;ttl=5 , region = eu-west',
    };
    const others = { progressToken: 1, 'com.example/user': 'root', 'io.modelcontextprotocol/related-task': 'x' };
    expect(forwardedMeta({ ...context, ...others })).toEqual(context);
    expect(forwardedMeta(others)).toBeUndefined();
    expect(forwardedMeta(undefined)).toBeUndefined();
  });

  it.each([
    ['of another length', `00-${TRACE}-${SPAN}-1`],
    ['in capitals', traceparent.toUpperCase()],
    ['of the forbidden version', `ff-${TRACE}-${SPAN}-01`],
    ['of no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['of no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['with trailing data', `${traceparent}-more`],
    ['with a line end', `${traceparent}\n`],
    ['that is not text', 7],
  ])('has no traceparent %s, nor the tracestate beside it [OTEL-001]', (_, wrong) => {
    expect(forwardedMeta({ traceparent: wrong, tracestate: 'a=1', baggage: 'b=2' })).toEqual({ baggage: 'b=2' });
  });

  it('has the traceparent of a later version, which may be longer [OTEL-001]', () => {
    for (const later of [`01-${TRACE}-${SPAN}-01`, `01-${TRACE}-${SPAN}-01-more`]) {
      expect(forwardedMeta({ traceparent: later })).toEqual({ traceparent: later });
    }
  });

  it.each(
    [['', 'a', 'a=', '=1', 'A=1', 'a=1=2', 'a=\u00e4', `a=${'x'.repeat(257)}`, Array(33).fill('a=1').join()]].flat(),
  )('has no tracestate %j [OTEL-001]', (tracestate) => {
    expect(forwardedMeta({ traceparent, tracestate })).toEqual({ traceparent });
  });

  it.each(['', 'a', '=1', 'a b=1', 'a="1"', 'a=1 2', 'a=1;', 'a=1,', 'a=\u00e4', 'a=1\n', `a=${'x'.repeat(8_192)}`])(
    'has no baggage %j [OTEL-001]',
    (baggage) => {
      expect(forwardedMeta({ traceparent, baggage })).toEqual({ traceparent });
    },
  );
});
