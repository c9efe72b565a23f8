// A device with a port for a cluster's TCDM on one side (wen is 0 for writes), the memory port on the other.
module tw_from_tcdm #(
    parameter WIDTH = 32
) (
    input wire clk, input wire reset,
    output wire mem_request, output wire mem_write, output wire [31:0] mem_address, output wire [WIDTH-1:0] mem_wdata,
    output wire [WIDTH/8-1:0] mem_strobe, input wire mem_grant, input wire mem_rvalid, input wire [WIDTH-1:0] mem_rdata,
    input wire req, output wire gnt, input wire [31:0] add, input wire wen, input wire [WIDTH/8-1:0] be,
    input wire [WIDTH-1:0] data, output wire [WIDTH-1:0] r_data, output wire r_valid
);
  wire unused = clk | reset;
  assign mem_request = req;
  assign mem_write = !wen;
  assign mem_address = add;
  assign mem_wdata = data;
  assign mem_strobe = be;
  assign gnt = mem_grant;
  assign r_data = mem_rdata;
  assign r_valid = mem_rvalid;
endmodule
