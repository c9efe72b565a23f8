// A device with an AXI4 master on one side (bursts with increment, one at a time), the memory port on the other.
module tw_from_axi #(
    parameter WIDTH = 32
) (
    input wire clk, input wire reset,
    output wire mem_request, output wire mem_write, output wire [31:0] mem_address, output wire [WIDTH-1:0] mem_wdata,
    output wire [WIDTH/8-1:0] mem_strobe, input wire mem_grant, input wire mem_rvalid, input wire [WIDTH-1:0] mem_rdata,
    input wire awvalid, output wire awready, input wire [31:0] awaddr, input wire [7:0] awlen,
    input wire wvalid, output wire wready, input wire [WIDTH-1:0] wdata, input wire [WIDTH/8-1:0] wstrb,
    output wire bvalid, input wire bready,
    input wire arvalid, output wire arready, input wire [31:0] araddr, input wire [7:0] arlen,
    output wire rvalid, input wire rready, output wire [WIDTH-1:0] rdata, output wire rlast
);
  localparam IDLE = 3'd0, WRITE = 3'd1, RESPOND = 3'd2, READ = 3'd3, GIVE = 3'd4;
  reg [2:0] state;
  reg [31:0] address;
  reg [7:0] left;
  reg is_held;
  reg [WIDTH-1:0] held;

  assign awready = state == IDLE;
  assign arready = state == IDLE && !awvalid;
  assign wready = state == WRITE && mem_grant;
  assign bvalid = state == RESPOND;
  assign rvalid = state == GIVE && (mem_rvalid || is_held);
  assign rdata = is_held ? held : mem_rdata;
  assign rlast = left == 8'd0;
  assign mem_write = state == WRITE;
  assign mem_request = state == READ || (state == WRITE && wvalid);
  assign mem_address = address;
  assign mem_wdata = wdata;
  assign mem_strobe = wstrb;

  always @(posedge clk) begin
    if (mem_rvalid) held <= mem_rdata;
    is_held <= !reset && state == GIVE && !(rvalid && rready) && (is_held || mem_rvalid);
    case (state)
      IDLE: begin
        address <= awvalid ? awaddr : araddr;
        left <= awvalid ? awlen : arlen;
        if (awvalid) state <= WRITE;
        else if (arvalid) state <= READ;
      end
      WRITE:
      if (wvalid && mem_grant) begin
        address <= address + WIDTH / 8;
        left <= left - 8'd1;
        if (left == 8'd0) state <= RESPOND;
      end
      RESPOND: if (bready) state <= IDLE;
      READ: if (mem_grant) state <= GIVE;
      default:
      if (rvalid && rready) begin
        address <= address + WIDTH / 8;
        left <= left - 8'd1;
        state <= left == 8'd0 ? IDLE : READ;
      end
    endcase
    if (reset) state <= IDLE;
  end
endmodule
