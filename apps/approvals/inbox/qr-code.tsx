import qrcode from 'qrcode-generator';

/** Light modules around the code, which scanners need. @see ISO/IEC 18004, section 9.1 */
const QUIET_ZONE = 4;

/**
 * A text as a QR code. It is drawn black on white in every theme, because many scanners read no inverted code. It has no style, because the
 * CSP allows no inline style.
 */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = qrcode(0, 'M');
  code.addData(text);
  code.make();
  const modules = code.getModuleCount();
  const size = modules + 2 * QUIET_ZONE;
  const rows = Array.from({ length: modules }, (_, row) =>
    Array.from({ length: modules }, (_module, column) =>
      code.isDark(row, column) ? `M${column + QUIET_ZONE} ${row + QUIET_ZONE}h1v1h-1z` : '',
    ).join(''),
  );
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={rows.join('')} fill="#000" />
    </svg>
  );
}
